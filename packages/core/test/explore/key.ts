/** Two worlds with the same key have the same future. */

import type { CallState } from '../../src/machine/call.ts'
import type { Calls, WaitingExecution } from '../../src/machine/calls.ts'
import type { Checkpoint, State } from './model/state.ts'
import type { World } from './world.ts'

/** Stored checkpoints never change. */
const KEYS = new WeakMap<Checkpoint, string>()

export function keyOf(w: World): string {
  return JSON.stringify([{ ...w, s: 0, saving: 0, stored: 0 }, stateOf(w.s), fixed(w.saving), fixed(w.stored)])
}

function fixed(checkpoint: Checkpoint | null): string {
  if (!checkpoint) return ''
  const key = KEYS.get(checkpoint) ?? JSON.stringify(checkpoint)
  KEYS.set(checkpoint, key)
  return key
}

/** Version numbers only count versions. What matters is which ones are stored. */
function stateOf(s: State): unknown {
  const { aside, ending } = s
  const abouts = [...s.about.values()]
  const versions = abouts.flatMap(({ undoVersion, storing }) => [undoVersion, ...storing.map(({ version }) => version)])
  const order = [...new Set([...versions, s.stored, s.saving ?? -1])].sort((a, b) => a - b)
  const rank = (version: number) => (version < 0 ? version : order.indexOf(version))
  return {
    ...s,
    version: 0,
    stored: rank(s.stored),
    saving: s.saving === null ? null : rank(s.saving),
    aside: fixed(aside),
    ending: ending && { is: ending.is, checkpoint: 'checkpoint' in ending && fixed(ending.checkpoint) },
    contents: 0,
    calls: callsOf(s),
    about: abouts.map((about) => ({
      ...about,
      undoVersion: rank(about.undoVersion),
      storing: about.storing.map((one) => ({ ...one, version: rank(one.version) })),
    })),
  }
}

function callsOf({ calls, contents }: State): unknown {
  const { all, response, waiting } = calls
  const withContent = (call: CallState) => ({ ...call, content: contents[call.content ?? -1] })
  return {
    ...calls,
    all: [...all.values()].map(withContent),
    response: [response.isOpen, ...response.attempts, ...response.announcedBy],
    inner: [...calls.inner],
    innerHolding: [...calls.innerSlotsTaken],
    waiting: [...waiting].map((one) => waitingOf(calls, one)),
    version: 0,
    changedIn: 0,
  }
}

/** Of the change counters only one fact matters: whether there was a change since the last look. */
function waitingOf(
  { changedIn }: Calls,
  { call, invocation, blockedBy, awaitsToolSlot, lookedAtIn }: WaitingExecution,
): unknown {
  const isNew = (number: number) => (changedIn.get(number) ?? 0) > lookedAtIn
  return [call, invocation, blockedBy, awaitsToolSlot, isNew(call), blockedBy !== undefined && isNew(blockedBy)]
}
