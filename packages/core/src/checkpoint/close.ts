/** Closes a run that has stopped and will not continue. Each open call gets a result with the reason. */

import { partialMessage } from '../model-call/partial-response.ts'
import { inWordsOf } from '../tool-call/history-results.ts'
import { mayHaveHappenedText, textMessage } from '../tool-call/no-result-message.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, checkStore } from '../vocabulary/checkpoint-store.ts'
import { changesNothing } from '../vocabulary/effect.ts'
import { freezePlain } from '../vocabulary/frozen.ts'
import { openCalls } from '../vocabulary/history.ts'
import type { Message, ToolCall } from '../vocabulary/message.ts'
import { checkOptions, checkTypes, type OptionNames } from '../vocabulary/option-checks.ts'
import type { CancelledResult } from '../vocabulary/result.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'
import { checkpointFrom, hasFinalAnswer, stored } from './checkpoint.ts'
import { signed } from './checksum.ts'
import { asStoreError } from './saver.ts'

/** The options of `agent.close`. */
export interface CloseOptions {
  /** The result that the model reads for each open call. Default: a text which states that the run was closed before the call had a result. */
  readonly reason?: string
  /** The store of the checkpoints. Default: the agent's store. */
  readonly checkpoints?: CheckpointStore
}

const CLOSE_OPTIONS: OptionNames<CloseOptions> = { reason: '', checkpoints: 'checkpointer' }

const REASON = 'No result: the run was closed before this call had one.'

/** Implements `Agent.close`. */
export async function closeRun(
  config: AgentConfig,
  from: unknown,
  options: CloseOptions = {},
): Promise<CancelledResult> {
  checkOptions('close', options, CLOSE_OPTIONS)
  const { reason = REASON, checkpoints: store = config.checkpoints } = options
  checkTypes('string', { reason })
  checkStore(store)
  const checkpoint = checkpointFrom(from, typeof from === 'string' ? await stored(store, from) : from, config.name)
  const { runId, revision, usage, warnings, steps } = checkpoint
  if (hasFinalAnswer(checkpoint))
    throw new CheckpointError(runId, 'its run has its final answer: agent.resume returns the result')
  const lost = lostIn(checkpoint)
  const unknown = [...new Set([...checkpoint.unknown, ...lost])]
  const messages = closedHistory(checkpoint, lost, reason)
  const closed = freezePlain(
    signed({
      ...checkpoint,
      revision: store ? revision + 1 : revision,
      status: 'cancelled',
      messages,
      unknown,
      steps: { begun: steps.begun, added: [] },
      // The next step shows the model the results of background work that has settled.
      calls: checkpoint.calls.filter(({ isWork, message }) => isWork && message),
      undos: [],
      interrupts: [],
      sent: [],
    }),
  )
  if (store) await saved(store, closed, revision)
  return freezePlain({
    status: 'cancelled',
    cancelled: { at: 'now' },
    text: '',
    messages,
    steps: steps.begun,
    usage,
    warnings,
    checkpoint: closed,
    ...(unknown.length > 0 && { unknown }),
  })
}

async function saved(store: CheckpointStore, closed: Checkpoint, expected: number): Promise<void> {
  try {
    await store.save(closed.runId, closed, expected)
  } catch (error) {
    throw asStoreError(closed.runId, error)
  }
}

/** The history, then the partial response at the stop, a result for each open call, and the messages that were sent. */
function closedHistory(checkpoint: Checkpoint, lost: readonly string[], reason: string): readonly Message[] {
  const { messages, steps, calls, sent, status } = checkpoint
  const { current, cutOff } = steps
  const said = current?.phase === 'model' && cutOff !== undefined && partialMessage([{ type: 'text', text: cutOff }])
  const settled = new Map(calls.map((call) => [call.id, call.message]))
  const resultOf = (call: ToolCall) => {
    const mayHaveHappened = lost.some((id) => id === call.id || id.startsWith(`${call.id}/`))
    const text = mayHaveHappened ? `${mayHaveHappenedText(status === 'cancelled')} ${reason}` : reason
    return inWordsOf(call, settled.get(call.id) ?? textMessage(call, text, true))
  }
  return [...messages, ...(said ? [said] : []), ...openCalls(messages).map(resultOf), ...sent]
}

/** The ids of calls that may have changed something and whose result the model has not read, relative to the outermost run. */
function lostIn({ calls, interrupts }: Checkpoint): string[] {
  return calls.flatMap(({ id, effect, message, fate, runs }) => {
    const asks = interrupts.some(({ address }) => address.some((part) => 'callId' in part && part.callId === id))
    const isLost = effect && !changesNothing(effect) && (message ? fate !== 'committed' : !asks)
    return [
      ...(isLost ? [id] : []),
      ...runs.flatMap(({ checkpoint }) => lostIn(checkpoint).map((inner) => `${id}/${inner}`)),
    ]
  })
}
