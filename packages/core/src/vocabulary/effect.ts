/**
 * What a call does to the world. It decides how early the call may start:
 *
 * - `read`: changes nothing; a call nobody asked for in the end is waste, no more.
 * - `idempotent`: making it twice with one `idempotencyKey` is making it once; making it for a response that is then thrown
 *   away is acceptable.
 * - `reversible`: `compensate` undoes it.
 * - `external`: anything else, and the default.
 * - `calls`: does nothing except call other tools, through `run.callTool`, or run an agent, through `agentTool`. It starts as early as a
 *   `read`. Each call it makes has its own effect: one that may not start yet waits until the model call has stood. It is made again if
 *   the end of a process cut it off, and finds the calls it had made by their ids: give them the same ids each time.
 */
export type Effect = 'read' | 'idempotent' | 'reversible' | 'external' | 'calls'

/** What a call makes is judged by its own effect: to make calls is as light as to read. */
const GRAVITY: Readonly<Record<Effect, number>> = { read: 0, calls: 0, idempotent: 1, reversible: 2, external: 3 }

export function isEffect(value: unknown): value is Effect {
  return typeof value === 'string' && Object.hasOwn(GRAVITY, value)
}

/** Whether an effect is graver than another. */
export function exceeds(effect: Effect, ceiling: Effect): boolean {
  return GRAVITY[effect] > GRAVITY[ceiling]
}

/** Whether a call with this effect changes nothing itself. */
export function changesNothing(effect: Effect | undefined): boolean {
  return effect !== undefined && GRAVITY[effect] === 0
}
