/** Checks and copies the arguments of callers. */

import { ConfigError, InputError, type UserMessage } from '@meanwhile/core'
import { ThreadIdError } from './thread-errors.ts'
import type { WhenAsking, WhenBusy } from './user-decisions.ts'

/** Throws {@link ThreadIdError} if the id is not valid. `thread`: the thread of the message or turn. */
export function checkId(id: unknown, what: ThreadIdError['what'], thread?: string): void {
  if (typeof id !== 'string' || id === '' || id.length > 1_024) throw new ThreadIdError(id, what, thread)
}

/** What happens to a message that arrives while a turn is active. */
export interface Manners {
  readonly whenBusy: WhenBusy
  readonly whenAsking: WhenAsking
}

const CHOICES = {
  whenBusy: ['queue', 'steer', 'preempt', 'reject'],
  whenAsking: ['close', 'reject'],
} satisfies { readonly [Option in keyof Manners]: readonly Manners[Option][] }

/** Returns the options. Throws `ConfigError` if one is not valid. */
export function checkedManners(manners: Manners): Manners {
  for (const option of ['whenBusy', 'whenAsking'] as const) {
    const choices: readonly string[] = CHOICES[option]
    if (!choices.includes(manners[option])) throw new ConfigError(option, `must be ${choices.join(' or ')}`)
  }
  return manners
}

/** Returns a copy of the message. Throws `InputError` if it is not a user message, or if it is empty. */
export function checkedMessage(given: string | UserMessage): UserMessage {
  const message: UserMessage = typeof given === 'string' ? { role: 'user', content: given } : given
  const isUser = typeof message === 'object' && message !== null && message.role === 'user'
  const { content } = Object(message)
  if (!isUser || !(typeof content === 'string' || Array.isArray(content)))
    throw new InputError('message', 'malformed', undefined, given)
  if (content.length === 0) throw new InputError('message', 'empty')
  return asJson(message, 'message')
}

/** Returns a copy. Throws a `TypeError` if the value is not JSON. */
export function asJson<Value>(value: Value, what: string): Value {
  const text = JSON.stringify(value, (_, member: unknown) => {
    const isNone = ['function', 'symbol', 'bigint'].includes(typeof member)
    if (isNone || (typeof member === 'number' && !Number.isFinite(member))) throw new TypeError(`${what} must be JSON`)
    return member
  })
  if (text === undefined) throw new TypeError(`${what} must be JSON`)
  return JSON.parse(text)
}
