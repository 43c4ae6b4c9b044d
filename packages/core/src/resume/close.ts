/** Closes a run that has stopped and will not continue. Each open call, and open background work, gets a result with the reason. */

import { checkpointFrom, hasFinalAnswer, signed, stored } from '../checkpoint/checkpoint.ts'
import { asStoreError } from '../checkpoint/saver.ts'
import { textMessage } from '../execution/result-message.ts'
import { inWordsOf } from '../tool-call/history-results.ts'
import { mayHaveHappenedText, resultNotice } from '../tool-call/no-result-message.ts'
import { insideText, type StoppedCall, stoppedCalls, withInner } from '../tool-call/stopped-calls.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { type CheckpointStore, checkStore } from '../vocabulary/checkpoint-store.ts'
import { freezePlain } from '../vocabulary/frozen.ts'
import { openCalls } from '../vocabulary/history.ts'
import type { Message, ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { partialMessage } from '../vocabulary/message-shape.ts'
import { checkOptions, checkTypes } from '../vocabulary/option-checks.ts'
import type { CancelledResult } from '../vocabulary/result.ts'
import type { Checkpoint, SavedCall } from '../vocabulary/saved-run.ts'

/** The options of `agent.close`. */
export interface CloseOptions {
  /** The result that the model reads for each open call. Default: a text which states that the run was closed before the call had a result. */
  readonly reason?: string
  /** The store of the checkpoints. Default: the agent's store. */
  readonly checkpoints?: CheckpointStore
}

const REASON = 'No result: the run was closed before this call had one.'

/** Implements `Agent.close`. */
export async function closeRun(
  config: AgentConfig,
  from: unknown,
  options: CloseOptions = {},
): Promise<CancelledResult> {
  checkOptions('close', options, { reason: '', checkpoints: 'checkpointer' })
  const { reason = REASON, checkpoints: store = config.checkpoints } = options
  checkTypes('string', { reason }, ['reason'])
  checkStore(store)
  const checkpoint = checkpointFrom(from, typeof from === 'string' ? await stored(store, from) : from, config.name)
  const { runId, revision, usage, warnings, steps } = checkpoint
  if (hasFinalAnswer(checkpoint))
    throw new CheckpointError(runId, 'its run has its final answer: agent.resume returns the result')
  const stopped = stoppedCalls(checkpoint)
  const unknown = [...new Set([...checkpoint.unknown, ...unknownIn(stopped)])]
  const byId = new Map(stopped.map((one) => [one.id, one]))
  const closing = (call: ToolCall) => closingMessage(call, byId.get(call.id), checkpoint.status, reason)
  const works = checkpoint.calls.flatMap((one) =>
    one.isWork ? [{ ...one, message: one.message ?? closing(one.call) }] : [],
  )
  const messages = closedHistory(checkpoint, works, closing)
  const closed = freezePlain(
    signed({
      ...checkpoint,
      revision: store ? revision + 1 : revision,
      status: 'cancelled',
      messages,
      unknown,
      steps: { begun: steps.begun, added: [] },
      // `tool_status` still shows their results.
      calls: works.map((one) => ({ ...one, isRead: true, outcomes: [], runs: [] })),
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

type Work = SavedCall & { readonly message: ToolMessage }

/** The ids of calls that may have changed something and whose result the model has not read, relative to the outermost run. */
function unknownIn(calls: readonly StoppedCall[]): string[] {
  return withInner(calls).flatMap(({ id, isUnknown }) => (isUnknown ? [id] : []))
}

/** The result of a call that has none: the reason, and what may have happened. */
function closingMessage(
  call: ToolCall,
  stopped: StoppedCall | undefined,
  status: Checkpoint['status'],
  reason: string,
): ToolMessage {
  const mayHaveHappened = stopped && unknownIn([stopped]).length > 0
  const text = mayHaveHappened ? `${mayHaveHappenedText(status === 'cancelled')} ${reason}` : reason
  return textMessage(call, text + insideText(stopped?.inside ?? []), true)
}

/** The history, then the partial response at the stop, a result for each open call, those of background work, and the messages that were sent. */
function closedHistory(
  { messages, steps, calls, sent }: Checkpoint,
  works: readonly Work[],
  closing: (call: ToolCall) => ToolMessage,
): readonly Message[] {
  const { current, cutOff } = steps
  const said = current?.phase === 'model' && cutOff !== undefined && partialMessage([{ type: 'text', text: cutOff }])
  const settled = new Map(calls.flatMap(({ id, isWork, message }) => (isWork ? [] : [[id, message]])))
  const results = openCalls(messages).map((call) => inWordsOf(call, settled.get(call.id) ?? closing(call)))
  const notices = works.flatMap(({ message, isRead }) => (isRead ? [] : [resultNotice(message)]))
  return [...messages, ...(said ? [said] : []), ...results, ...notices, ...sent]
}
