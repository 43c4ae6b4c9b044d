/** A smaller difference, as a share of the time, counts as noise. */
export const NOISE = 0.005
