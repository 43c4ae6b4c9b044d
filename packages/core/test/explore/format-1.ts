/** Checks that a checkpoint of the explorer is the same after it is written in format 1 and read again. */

import { signed } from '../../src/checkpoint/checksum.ts'
import { fromFormat1 } from '../../src/checkpoint/format-1.ts'
import type { Checkpoint as Saved } from '../../src/index.ts'
import { canonical } from '../../src/vocabulary/canonical.ts'
import { toFormat1 } from '../format-1.ts'
import type { Checkpoint, SavedCall } from './model/state.ts'

/** The checkpoints that are the same. */
const SAME = new WeakSet<Checkpoint>()

/** What format 1 changes in it. */
export function changedByFormat1(checkpoint: Checkpoint): string | undefined {
  if (SAME.has(checkpoint)) return undefined
  const saved = savedAs(checkpoint)
  const [before, after] = [saved, fromFormat1(toFormat1(saved))].map((one) => canonical(one))
  if (before !== after) return `${before} → ${after}`
  SAME.add(checkpoint)
  return undefined
}

/** The same state with other values. */
function savedAs({ steps, calls }: Checkpoint): Saved {
  return signed({
    format: 2,
    runId: 'run',
    agent: null,
    revision: 1,
    status: 'interrupted',
    interrupts: [],
    messages: [],
    usage: {},
    warnings: [],
    steps: { ...steps, added: [], ...(steps.current?.isOffered && { candidate: 0 }) },
    // Format 1 has no discarded calls.
    calls: calls.flatMap((call) => (call.fate === 'discarded' ? [] : savedCallAs(call))),
    undos: [],
    tools: [],
    questions: {},
    values: {},
    sent: [],
    unknown: calls.flatMap(({ key, isUnknown }) => (isUnknown ? [key] : [])),
    abandoned: [],
  })
}

function savedCallAs({ about, isBeingUndone: _, done, outcomes, ...saved }: SavedCall): Saved['calls'][number] {
  const { key } = saved
  const { name, input, result } = about
  const message = (text: string) => ({ role: 'tool', callId: key, name, content: [{ type: 'text', text }] }) as const
  return {
    ...saved,
    id: key,
    call: { type: 'tool-call', id: key, name, input },
    ...(result && { message: message(result.text) }),
    ...(done && { done: { input, output: null } }),
    outcomes: outcomes.map(({ invocation, text }) => ({ invocation, message: message(text) })),
    runs: [],
  }
}
