/** Checks what callers pass to durable runs, before anything of it is stored. */

import { ConfigError, type Json, messageOf } from '@meanwhile/core'
import { asJson } from '@meanwhile/core/calls'
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
  if (data === undefined) return
  try {
    asJson(data, 'data')
  } catch (error) {
    throw new ConfigError('data', messageOf(error))
  }
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

/** The greatest number of PostgreSQL's `integer`, and of a timer of Node.js. */
const LARGEST = 2_147_483_647

export function isInt32(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= LARGEST
}
