/** What tests read in the result of a run. */

import type { AgentResult, Checkpoint, Json, Message } from '../src/index.ts'

/** The result of a call that the end of its run cut off. */
export const CUT_OFF =
  'The run ended while this call was running. The call was cut off, and its effect may have happened.'

/** The result of a call that had not started when its run ended. */
export const NOT_STARTED = 'Not run: the run ended before this call started.'

/** The ids of the calls with the texts of their results. */
export function resultsIn(messages: readonly Message[] | undefined) {
  return messages?.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.content[0]?.type === 'text' && message.content[0].text]] : [],
  )
}

export const textsOf = ({ messages }: AgentResult): string[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  )

/** The ids of the open questions. */
export const idsOf = ({ interrupts = [] }: AgentResult): string[] => interrupts.map(({ id }) => id)

/** The same answer to each open question. */
export const answersTo = (
  outcome: Pick<AgentResult, 'interrupts'> | undefined,
  answer: Json = 'yes',
): Record<string, Json> => Object.fromEntries((outcome?.interrupts ?? []).map(({ id }) => [id, answer]))

export function checkpointOf({ checkpoint }: AgentResult): Checkpoint {
  if (!checkpoint) throw new Error('no checkpoint')
  return checkpoint
}
