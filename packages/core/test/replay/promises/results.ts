/** What the result of a run has: a result for each call, and the same history as an undisturbed run. */

import type { Message, ToolCall, ToolMessage } from '../../../src/index.ts'
import { textOf, wordOf } from '../model.ts'
import { AT_END, letterOf } from '../scenario.ts'
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
  'everything in a result was done, by its own execution': ({ journal }) => {
    const results = (journal.now.result?.messages ?? []).filter(
      (one): one is ToolMessage => one.role === 'tool' && !one.isError,
    )
    const texts = results.map((one) => textOf(one).split('\n').at(-1) ?? '')
    return texts.find((text) => {
      const done = journal.entries.filter(({ output }) => output === text).length
      return (
        / done/.test(text) &&
        !text.includes(',') &&
        !/ of /.test(text) &&
        done < texts.filter((one) => one === text).length
      )
    })
  },
  'a result belongs to the input of its call': ({ journal: { now } }) => {
    const messages = now.result?.messages ?? []
    const calls = new Map(messages.flatMap(callsIn).map((call) => [call.id, wordOf(call)]))
    const wrong = messages.find((one) => {
      if (one.role !== 'tool' || one.isError) return false
      const word = calls.get(one.callId) ?? ''
      return !AT_END[letterOf(word)] && !textOf(one).includes(word)
    })
    return wrong && textOf(wrong)
  },
  'a call whose save fails ends the run, and the model reads nothing of it': ({ journal: { now } }) =>
    now.result?.messages.map(textOf).find((text) => text.includes('could not be saved')),
  'a run whose answer is accepted has read all messages that were sent': ({ journal }) => {
    const { result } = journal.now
    if (result?.status !== 'completed') return undefined
    return unread(result.messages, journal.sent)
  },
  'a sent message is in the checkpoint, in its history or waiting': ({ journal }) => {
    const checkpoint = journal.now.result?.checkpoint
    return checkpoint && unread([...checkpoint.messages, ...checkpoint.sent], journal.sent)
  },
  'a rejected answer is not accepted': ({ journal, isTorn }) =>
    !isTorn && journal.now.result?.status === 'completed' && journal.rejected.includes(journal.now.result.text)
      ? journal.now.result.text
      : undefined,
  'the model reads each background result once, or the caller has it if no step is left': ({ journal, scenario }) => {
    const { result } = journal.now
    if (result?.status !== 'completed') return undefined
    const notices = result.messages.filter((one) => one.role === 'user' && one.origin === 'background').map(textOf)
    const works = result.messages.filter((one) => one.role === 'tool' && AT_END[letterOf(one.name)] && !one.isError)
    return works.flatMap((one) => {
      if (one.role !== 'tool') return []
      const times = notices.filter((text) => text.includes(one.callId)).length
      const isKept = result.background?.some(({ callId }) => callId === one.callId)
      return times > 1 || (times === 0 && !(isKept && scenario.maxSteps) && AT_END[letterOf(one.name)] === 'wait')
        ? [`${one.callId}: ${times}`]
        : []
    })[0]
  },
}

function unread(messages: readonly Message[], sent: readonly string[]): string | undefined {
  const read = messages.flatMap((one) => (one.role === 'user' && one.origin === undefined ? [textOf(one)] : []))
  const texts = read.filter((text) => text.startsWith('said '))
  return texts.join() === sent.join() ? undefined : `${texts.join()} of ${sent.join()}`
}

export const messagesOf = (error: unknown): readonly Message[] | undefined =>
  (error as { readonly messages?: readonly Message[] } | undefined)?.messages

export function callsIn(message: Message): ToolCall[] {
  return message.role === 'assistant'
    ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part] : []))
    : []
}

/** What a completed run has done and read, without ids. Nothing if a stop has left its mark in a result. */
export function historyOf({ journal: { now } }: World): string | undefined {
  if (now.result?.status !== 'completed') return undefined
  const texts = now.result.messages.flatMap((one) => {
    if (one.role === 'tool') return [`= ${AT_END[letterOf(one.name)] ? one.name : textOf(one)}`]
    return callsIn(one).map(wordOf)
  })
  const text = texts.join(' ')
  return /cancelled|abandoned|circle|cut off|may have|aborted|stopped|ends only after/.test(text) ? undefined : text
}
