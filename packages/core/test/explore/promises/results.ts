/** What the result of a run has: a result for each call, and the same history as an undisturbed run. */

import type { Message, ToolCall } from '../../../src/index.ts'
import { EDITED } from '../middleware.ts'
import { textOf, wordOf } from '../model.ts'
import { atEndOf, letterOf } from '../scenario.ts'
import type { World } from '../world.ts'
import type { Promises } from './promise.ts'

/** When a run is over. */
export const RESULTS: Promises = {
  'each call has one result, in call order': ({ journal: { now } }) => {
    const messages = now.result?.messages ?? messagesOf(now.error)
    if (!messages || now.result?.status === 'interrupted') return undefined
    const asked = messages.flatMap((one) => callsIn(one).map(({ id }) => id)).join()
    const answered = messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : [])).join()
    return asked === answered ? undefined : `${asked} and ${answered}`
  },
  'everything in a result was done, by its own execution': ({ journal: { now, entries } }) => {
    const texts = (now.result?.messages ?? []).flatMap((one) =>
      one.role === 'tool' && !one.isError ? [textOf(one).split('\n').at(-1) ?? ''] : [],
    )
    const times = (text: string) => texts.filter((one) => one === text).length
    // One line is the output of one execution, unless it joins several, or is that of an inner call.
    const isOne = (text: string) => / done/.test(text) && !/,| of /.test(text)
    return texts.find((text) => isOne(text) && entries.filter(({ output }) => output === text).length < times(text))
  },
  'a result belongs to the input of its call': ({ journal: { now } }) => {
    const messages = now.result?.messages ?? []
    const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, wordOf(call)]))
    const wrong = messages.find((one) => {
      if (one.role !== 'tool' || one.isError) return false
      const word = calls.get(one.callId) ?? ''
      return !atEndOf(word) && !textOf(one).includes(word)
    })
    return wrong && textOf(wrong)
  },
  'a call whose save fails ends the run, and the model reads nothing of it': ({ journal: { now } }) =>
    now.result?.messages.map(textOf).find((text) => text.includes('could not be saved')),
  'what a function returns after its time limit is not its result': ({ journal: { now, entries } }) => {
    const late = entries.filter(({ word, abortedIn }) => letterOf(word) === 'T' && abortedIn !== undefined)
    const texts = now.result?.messages.map(textOf) ?? []
    return late.find(({ output }) => output !== undefined && texts.includes(output))?.word
  },
  'what a hook of the gate makes of an answer is the answer': ({ completed, scenario }) =>
    completed && scenario.gate === 'edits' && completed.text !== EDITED ? completed.text : undefined,
  'a run whose answer is accepted has read all messages that were sent': ({ journal, completed }) =>
    completed && unread(completed.messages, journal.sent),
  'a sent message is in the checkpoint, in its history or waiting': ({ journal }) => {
    const checkpoint = journal.now.result?.checkpoint
    return checkpoint && unread([...checkpoint.messages, ...checkpoint.sent], journal.sent)
  },
  'a rejected answer is not accepted': ({ journal, completed, isTorn }) =>
    completed && !isTorn && journal.rejected.includes(completed.text) ? completed.text : undefined,
  'the model reads each background result once, or the caller has it if no step is left': ({ completed, scenario }) => {
    const { messages = [], background = [] } = completed ?? {}
    const notices = messages.flatMap((one) => (one.role === 'user' && one.origin === 'background' ? [textOf(one)] : []))
    const wrong = messages.find((one) => {
      if (one.role !== 'tool' || one.isError || !atEndOf(one.name)) return false
      const times = notices.filter((text) => text.includes(one.callId)).length
      const isKept = scenario.maxSteps !== undefined && background.some(({ callId }) => callId === one.callId)
      return times > 1 || (times === 0 && !isKept && atEndOf(one.name) === 'wait')
    })
    return wrong && textOf(wrong)
  },
}

function unread(messages: readonly Message[], sent: readonly string[]): string | undefined {
  const read = messages.flatMap((one) => (one.role === 'user' && one.origin === undefined ? [textOf(one)] : []))
  const texts = read.filter((text) => text.startsWith('said '))
  return texts.join() === sent.join() ? undefined : `${texts.join()} of ${sent.join()}`
}

export const messagesOf = (error: unknown): readonly Message[] | undefined =>
  (error as { readonly messages?: readonly Message[] } | undefined)?.messages

export const callsIn = (message: Message): ToolCall[] =>
  message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part] : [])) : []

/** What a completed run has done and read, without ids. Nothing if a stop has left its mark in a result. */
export function historyOf({ completed }: World): string | undefined {
  const texts = completed?.messages.flatMap((one) => {
    if (one.role === 'tool') return [`= ${atEndOf(one.name) ? one.name : textOf(one)}`]
    return callsIn(one).map(wordOf)
  })
  const text = texts?.join(' ')
  return text === undefined || MARKS.test(text) ? undefined : text
}

const MARKS = /cancelled|abandoned|circle|cut off|may have|aborted|stopped|ends only after/
