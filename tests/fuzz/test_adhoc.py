import os, time, random
from fuzz.test_fuzz import _runs, world, one_case
def test_adhoc(world):
    kind = os.environ["KIND"]; a, b = map(int, os.environ["RANGE"].split("-"))
    slow=[]; fails=[]
    for n in range(a,b):
        t=time.time(); f=one_case(kind,n,world); d=time.time()-t
        slow.append((d,n))
        if f: fails.append(f)
    import collections
    text="\n".join(fails)
    import pathlib; pathlib.Path("/tmp/w/hs/fails-"+kind+".txt").write_text(f"{len(fails)} of {b-a}; total {sum(d for d,_ in slow):.1f}s; slowest {sorted(slow)[-6:]}\n"+text)
