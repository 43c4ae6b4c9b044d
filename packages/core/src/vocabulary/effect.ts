/**
 * What a call changes outside the program. The effect decides how early a call may start:
 *
 * - `read`: changes nothing. An unneeded call only costs time.
 * - `idempotent`: running it twice with the same `idempotencyKey` has the effect of running it once, and running it for a response that is then
 *   discarded is acceptable.
 * - `reversible`: `compensate` undoes it.
 * - `external`: anything else. The default.
 * - `calls`: only calls other tools, through `run.callTool`, or runs an agent, through `agentTool`. It starts as early as a `read`. Each call it
 *   makes has its own effect, and waits until the model call has succeeded if its effect does not allow an early start. If the end of a process
 *   interrupted it, it runs again and finds the calls it had made by their ids: use the same ids each time.
 */
export type Effect = 'read' | 'idempotent' | 'reversible' | 'external' | 'calls'

/** `calls` is as weak as `read`, because each inner call has its own effect. */
const GRAVITY: Readonly<Record<Effect, number>> = { read: 0, calls: 0, idempotent: 1, reversible: 2, external: 3 }

export function isEffect(value: unknown): value is Effect {
  return typeof value === 'string' && Object.hasOwn(GRAVITY, value)
}

/** Whether an effect is stronger than another. */
export function exceeds(effect: Effect, ceiling: Effect): boolean {
  return GRAVITY[effect] > GRAVITY[ceiling]
}

/** Whether a call with this effect changes nothing itself. */
export function changesNothing(effect: Effect | undefined): boolean {
  return effect !== undefined && GRAVITY[effect] === 0
}
