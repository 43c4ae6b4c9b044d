/** What the failure of a request says about the request. */

import { isRecord } from '@meanwhile/core/calls'
import type { Sdk } from './sdk.ts'

/** The response has ended without the answer. */
export class LostError extends Error {
  readonly code = 'its response has ended'
}

/**
 * `unsent`: the server has not received it. `expired`: the server has refused it, because it does not know the session. `auth`: it has refused it,
 * because of the credentials. `refused`: it has refused it for another reason. `answered`: it has answered with an error. `lost`: it may have
 * received it, and there is no answer.
 */
export type Fault = 'unsent' | 'expired' | 'auth' | 'refused' | 'answered' | 'lost'

/** How servers refuse a session that they do not know, most often after a restart. The protocol asks for a 404. An error of JSON-RPC may come from a tool that has acted. */
const SESSION = /session|not initialized/i

const UNSENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT']

export function faultOf(sdk: Sdk, thrown: unknown): Fault {
  const { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, UnauthorizedError } = sdk
  const error = causeOf(sdk, thrown)
  if (error instanceof UnauthorizedError) return 'auth'
  if (error instanceof ProtocolError) return 'answered'
  if (error instanceof SdkHttpError) {
    const { status, data } = error
    if (status === 404 || (status === 400 && SESSION.test(String(data.text)))) return 'expired'
    if (error.code === SdkErrorCode.ClientHttpAuthentication || status === 401) return 'auth'
    return status >= 400 && status < 500 && status !== 408 ? 'refused' : 'lost'
  }
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.NotConnected) return 'unsent'
    if (error.code === SdkErrorCode.InvalidResult || error.code === SdkErrorCode.UnsupportedResultType)
      return 'answered'
    return 'lost'
  }
  if (error instanceof Error && error.message === 'Not connected') return 'unsent'
  return UNSENT.includes(codeOf(error)) ? 'unsent' : 'lost'
}

/** Whether the server has sent nothing until the time limit of the client. It need not be asked again. */
export function isSilent(sdk: Sdk, thrown: unknown): boolean {
  const error = causeOf(sdk, thrown)
  return error instanceof sdk.SdkError && error.code === sdk.SdkErrorCode.RequestTimeout
}

/** Why a server cannot be used, without any text that it or a user has written. */
export function reasonOf(sdk: Sdk, thrown: unknown): string {
  const { ProtocolError, SdkError, SdkHttpError } = sdk
  const error = causeOf(sdk, thrown)
  if (error instanceof SdkHttpError) return `HTTP ${error.status}`
  if (error instanceof SdkError) return `${error.code}${placeIn(error)}`
  if (error instanceof ProtocolError) return `JSON-RPC ${error.code}`
  return codeOf(error) || (error instanceof Error ? error.name : 'unknown error')
}

/** Which member of an answer is not valid. */
function placeIn({ message }: Error): string {
  const [, path] = /"path":\s*\[([^\]]*)\]/.exec(message) ?? []
  const names = path?.match(/[\w-]+/g)
  return names ? ` at ${names.join('.').slice(0, 100)}` : ''
}

/** While it finds out which protocol the server speaks, the client wraps what went wrong. */
function causeOf({ SdkError, SdkErrorCode }: Sdk, error: unknown): unknown {
  const isWrapped = error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed
  return isWrapped ? (error.cause ?? error) : error
}

function codeOf(error: unknown): string {
  if (!isRecord(error)) return ''
  if (typeof error.code === 'string') return error.code
  return 'cause' in error ? codeOf(error.cause) : ''
}
