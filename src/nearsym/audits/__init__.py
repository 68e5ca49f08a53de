"""How true a declared symmetry is: of an environment, and of an agent trained in it.

What people call:

    any_environment        `audit`: any Gymnasium environment, by whichever way it allows
    environment            `audit_environment`: pairs of steps, numbers, regions and a verdict
    rollouts               `audit_rollouts`: nearest steps, where states cannot be set; no verdict
    agent                  `audit_agent`: policy, critic, layers and relaxed weights of networks
    agent_in_environment   `audit_agent_in`: an environment, and the agent that acts in it

What these are made of, in the order in which an audit uses it:

    offers                 what an environment offers: symmetry, states, observations, time limit
    wrappers               observations and actions on their way through wrappers
    simulator              the same with a symmetry: states that can be moved too
    inferred               how states of a MuJoCo model move, from how it is declared to look
    coordinates            names of the state's entries, and distances in them
    declaration            whether the declaration is a symmetry at all: what is refused
    policies               random ways to act, and a policy of one's own
    world                  the environment as states that can be set and stepped from
    pairs                  the samples: a step from s under a, and one from g·s under g·a
    discrepancy            how far the two steps of a pair are apart
    regions                where they are: boxes of coordinate ranges
    observations           whether g·obs(s) is obs(g·s)
    responses              where the effect of each entry of the action goes
    moves, linear,
    automorphisms,
    candidates, fits       signed permutations that a world obeys to first order
    redeclared             other declarations of states and actions, tried on the samples
    mistakes               what a declaration got wrong, if another one would be right
    verdict                from all this to one word
    table, plots           the result for people
    progress               the bar, for those who want one
    pendulum               a small environment with everything an audit can use, for examples
"""

from typing import TYPE_CHECKING

from nearsym.lazy import attach

if TYPE_CHECKING:
    from nearsym.audits.agent import AgentAudit as AgentAudit
    from nearsym.audits.agent import audit_agent as audit_agent
    from nearsym.audits.agent_in_environment import RunAudit as RunAudit
    from nearsym.audits.agent_in_environment import audit_agent_in as audit_agent_in
    from nearsym.audits.any_environment import audit as audit
    from nearsym.audits.coordinates import Coordinates as Coordinates
    from nearsym.audits.environment import ElementAudit as ElementAudit
    from nearsym.audits.environment import EnvironmentAudit as EnvironmentAudit
    from nearsym.audits.environment import audit_environment as audit_environment
    from nearsym.audits.pendulum import MirrorPendulum as MirrorPendulum
    from nearsym.audits.rollouts import RolloutAudit as RolloutAudit
    from nearsym.audits.rollouts import audit_rollouts as audit_rollouts

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        "AgentAudit": ".agent",
        "Coordinates": ".coordinates",
        "ElementAudit": ".environment",
        "EnvironmentAudit": ".environment",
        "MirrorPendulum": ".pendulum",
        "RolloutAudit": ".rollouts",
        "RunAudit": ".agent_in_environment",
        "audit": ".any_environment",
        "audit_agent": ".agent",
        "audit_agent_in": ".agent_in_environment",
        "audit_environment": ".environment",
        "audit_rollouts": ".rollouts",
    },
)
