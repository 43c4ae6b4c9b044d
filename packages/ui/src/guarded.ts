/** The way of every request to its route: past `allow` and the limit of the body, with a response to what the route throws. */

import { AccessError } from './access-error.ts'
import { checkDeclaredSize } from './body.ts'
import { refusedBy } from './door.ts'
import { reporter } from './error-reports.ts'
import type { HandlerOptions } from './handler-options.ts'
import { RefusedRequest } from './visit.ts'

/** Answers a request with the response of `route`, or refuses it. */
export type Guard = (request: Request, route: () => Promise<Response>) => Promise<Response>

/** `refused`: the response to an error that is the fault of the request. All other errors are thrown. */
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
      checkDeclaredSize(request, maxBytes)
      return await route()
    } catch (error) {
      if (error instanceof RefusedRequest) return error.response
      if (error instanceof AccessError) report(error, request)
      const response = error instanceof Error ? refused(error) : undefined
      if (!response) throw error
      return response
    }
  }
}
