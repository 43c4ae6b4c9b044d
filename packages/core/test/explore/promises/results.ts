/** What the result of a run has: a result for each call, and the same history as an undisturbed run. */

import type { Message } from '../../../src/index.ts'
import { callsOf, textOf } from '../../../src/vocabulary/message.ts'
import { EDITED } from '../middleware.ts'
import { wordOf } from '../model.ts'
import { atEndOf, letterOf } from '../scenario.ts'
import type { World } from '../world.ts'
import { count, differ, type Promises } from './promise.ts'

/** When a run is over. */
export const RESULTS: Promises = {
  'each call has one result, in call order': (world) => {
    const messages = messagesIn(world)
    if (!messages || world.place.result?.status === 'interrupted') return false
    const answered = messages.flatMap((one) => (one.role === 'tool' ? [one.callId] : []))
    return differ(
      messages
        .flatMap(callsOf)
        .map(({ id }) => id)
        .join(),
      answered.join(),
    )
  },
  'everything in a result was done, by its own execution': ({ journal, place: { result } }) => {
    const texts = outputsIn(result?.messages).map(({ text }) => text.split('\n').at(-1) ?? '')
    const outputs = journal.entries.map(({ output = '' }) => output)
    // One line is the output of one execution, unless it joins several, or is that of an inner call.
    const isOne = (text: string) => / done/.test(text) && !/,| of /.test(text)
    return texts.find((text) => isOne(text) && count(outputs, text) < count(texts, text))
  },
  'a result belongs to the input of its call': ({ place: { result } }) => {
    const words = new Map(result?.messages.flatMap(callsOf).map((call) => [call.id, wordOf(call)]))
    return outputsIn(result?.messages).find(({ callId, text }) => {
      const word = words.get(callId) ?? ''
      return !atEndOf(word) && !text.includes(word)
    })
  },
  'a call whose save fails ends the run, and the model reads nothing of it': ({ place: { result } }) =>
    result?.messages.map(textOf).find((text) => text.includes('could not be saved')),
  'what a function returns after its time limit is not its result': ({ journal, place: { result } }) => {
    const texts = result?.messages.map(textOf) ?? []
    const late = journal.entries.filter(({ word, abortedIn }) => letterOf(word) === 'T' && abortedIn !== undefined)
    return late.find(({ output }) => output !== undefined && texts.includes(output))
  },
  'what a hook of the gate makes of an answer is the answer': ({ completed, scenario }) =>
    completed && scenario.gate === 'gate edits' && completed.text !== EDITED && completed.text,
  'a run whose answer is accepted has read all messages that were sent': ({ journal, completed }) =>
    completed && unread(completed.messages, journal.sent),
  'a sent message is in the checkpoint, in its history or waiting': ({ journal, place: { result } }) => {
    const { messages, sent } = result?.checkpoint ?? {}
    return messages && sent && unread([...messages, ...sent], journal.sent)
  },
  'a rejected answer is not accepted': ({ journal, completed, isTorn }) =>
    completed && !isTorn && journal.rejected.includes(completed.text) && completed.text,
  'the model reads each background result once, or the caller has it if no step is left': ({ completed, scenario }) => {
    const { messages = [], background = [] } = completed ?? {}
    const notices = messages.flatMap((one) => (one.role === 'user' && one.origin === 'background' ? [textOf(one)] : []))
    return outputsIn(messages).find(({ name, callId }) => {
      const times = notices.filter((text) => text.includes(callId)).length
      const isKept = scenario.maxSteps < Number.POSITIVE_INFINITY && background.some((one) => one.callId === callId)
      return atEndOf(name) && (times > 1 || (times === 0 && !isKept && atEndOf(name) === 'wait'))
    })
  },
}

/** The results of calls that have not failed. */
const outputsIn = (messages: readonly Message[] = []) =>
  messages.flatMap((one) => (one.role === 'tool' && !one.isError ? [{ ...one, text: textOf(one) }] : []))

function unread(messages: readonly Message[], sent: readonly string[]): string | false {
  const read = messages.flatMap((one) => (one.role === 'user' && one.origin === undefined ? [textOf(one)] : []))
  return differ(read.filter((text) => text.startsWith('said ')).join(), sent.join())
}

/** The messages of the result, or of the error. */
export const messagesIn = ({ place: { result, error } }: World): readonly Message[] | undefined =>
  result?.messages ?? (error as { readonly messages?: readonly Message[] } | undefined)?.messages

/** What a completed run has done and read, without ids. Nothing if a stop has left its mark in a result. */
export function historyOf({ completed }: World): string | undefined {
  const texts = completed?.messages.flatMap((one) =>
    one.role === 'tool' ? [`= ${atEndOf(one.name) ? one.name : textOf(one)}`] : callsOf(one).map(wordOf),
  )
  const text = texts?.join(' ')
  return text === undefined || MARKS.test(text) ? undefined : text
}

const MARKS = /cancelled|abandoned|circle|cut off|may have|aborted|stopped|ends only after/
