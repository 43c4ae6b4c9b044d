/** Checks what callers pass to durable runs, before anything of it is stored. */

import { ConfigError, InputError, type Json, type UserMessage } from '@meanwhile/core'
import type { WakeOptions } from './engine.ts'

/** Whether a run can have this id. */
export function isRunId(id: unknown): id is string {
  return typeof id === 'string' && id.length > 0 && id.length <= 255 && !/\0|\p{Surrogate}/u.test(id)
}

/** @throws {ConfigError} It is not a string. */
export function checkConversation(id: string | undefined): void {
  if (id !== undefined && typeof id !== 'string') throw new ConfigError('conversationId', 'must be a string')
}

/** @throws {ConfigError} It is not JSON. */
export function checkData(data: Json | undefined): void {
  if (data !== undefined && !isJson(data)) throw new ConfigError('data', 'must be JSON')
}

/** @throws {ConfigError} */
export function checkWake({ priority, delay }: WakeOptions): void {
  if (priority !== undefined && !isInt32(priority)) throw new ConfigError('priority', 'must be an integer of 32 bits')
  checkMilliseconds('delay', delay)
}

/** @throws {ConfigError} */
export function checkMilliseconds(option: string, value: unknown): void {
  if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && value >= 0))
    throw new ConfigError(option, 'must be a number of milliseconds, 0 or more')
}

/** For a timer: with a greater number a timer of Node.js fires at once. @throws {ConfigError} */
export function checkTimer(option: string, value: unknown): void {
  checkMilliseconds(option, value)
  if (Number(value) > LARGEST) throw new ConfigError(option, `must be at most ${LARGEST} milliseconds`)
}

/** Epoch milliseconds. @throws {ConfigError} It is not a time. */
export function checkedTime(option: string, time: Date | number): number {
  const milliseconds = time instanceof Date ? time.getTime() : time
  if (typeof milliseconds !== 'number' || Number.isNaN(milliseconds))
    throw new ConfigError(option, 'must be a valid Date, or epoch milliseconds')
  return milliseconds
}

/** @throws {InputError} It is not a user message, or it is empty. */
export function checkedMessage(given: string | UserMessage): UserMessage {
  const message: UserMessage = typeof given === 'string' ? { role: 'user', content: given } : given
  const { role, content } = Object(message)
  if (role !== 'user' || !(typeof content === 'string' || isParts(content)) || !isJson(message))
    throw new InputError('message', 'malformed', undefined, given)
  if (content.length === 0) throw new InputError('message', 'empty')
  return message
}

function isParts(content: unknown): content is readonly object[] {
  return Array.isArray(content) && content.every((part) => typeof Object(part).type === 'string')
}

/** The greatest number of PostgreSQL's `integer`, and of a timer of Node.js. */
const LARGEST = 2_147_483_647

export function isInt32(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= LARGEST
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value, jsonOnly) !== undefined
  } catch {
    return false
  }
}

function jsonOnly(_: string, value: unknown): unknown {
  const isNone = ['function', 'symbol', 'bigint'].includes(typeof value)
  if (isNone || (typeof value === 'number' && !Number.isFinite(value))) throw new TypeError('not JSON')
  return value
}
