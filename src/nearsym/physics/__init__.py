"""MuJoCo models: their full states, and how signed permutations of joints move them.

signed           signed permutations, as values
model            where an environment keeps its MuJoCo model, and names of its coordinates
states           `ModelStates`: any environment on a MuJoCo model, as states to read and set
attribute        `AttributeStates`: the same for environments that keep one array `state`
anywhere         `with_states`: whichever of them fits
dm_control_env   `DmControlEnv`: a dm_control environment as a Gymnasium environment
body             what an isometry of space and a change of names do to everything in a model
"""
