/** The way of every request to its route: past `allow` and the limit of the body, with a response to what the route throws. */

import { AccessError } from './access-error.ts'
import { checkDeclaredSize } from './body.ts'
import { refusedBy } from './door.ts'
import { reporter } from './error-reports.ts'
import type { HandlerOptions } from './handler-options.ts'
import { OpenFailed, RefusedRequest } from './visit.ts'

/** Reports an error of the server, which the client does not see. */
export type Report = (error: unknown) => void

/** Answers a request with the response of `route`, or refuses it. `report`: for errors after the response has begun. */
export type Guard = (request: Request, route: (report: Report) => Promise<Response>) => Promise<Response>

/** `refused`: the response to an error that is the fault of the request. All other errors are thrown, and go to `onError`, except those of `allow` and `open`. */
export function guarded(
  owner: string,
  { allow, onError }: Pick<HandlerOptions, 'allow' | 'onError'>,
  maxBytes: number,
  refused: (error: Error) => Response | undefined,
): Guard {
  const report = reporter(owner, onError)
  return async (request, route) => {
    try {
      const refusal = await refusedBy(allow, request)
      if (refusal) return refusal
    } catch (error) {
      const response = error instanceof AccessError && refused(error)
      if (!response) throw error
      report(error, request)
      return response
    }
    try {
      checkDeclaredSize(request, maxBytes)
      return await route((error) => report(error, request))
    } catch (error) {
      if (error instanceof RefusedRequest) return error.response
      if (error instanceof OpenFailed) throw error.cause
      const response = error instanceof Error ? refused(error) : undefined
      // Without `onError` it is enough that a thrown error is thrown.
      if (error instanceof AccessError || (!response && onError)) report(error, request)
      if (!response) throw error
      return response
    }
  }
}
