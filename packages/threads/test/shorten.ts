/** A middleware that replaces the history often. */

import { type Message, type Middleware, textOf } from '@meanwhile/core'

/** Returns the index of the last message that a user has written. */
export function questionAt(messages: readonly Message[]): number {
  return messages.findLastIndex((message) => message.role === 'user' && message.origin === undefined)
}

/** Replaces the messages before the question, before each step of a turn whose question has `short`. */
export const shorten: Middleware = {
  name: 'shorten',
  beforeModel({ messages }) {
    const at = questionAt(messages)
    const question = messages[at]
    if (!question || !textOf(question).includes('short')) return
    const content = `before step ${messages.length - at} of ${textOf(question)}`
    if (messages[0]?.content === content) return
    return { messages: [{ role: 'user', content, origin: 'shorten' }, ...messages.slice(at)] }
  },
}
