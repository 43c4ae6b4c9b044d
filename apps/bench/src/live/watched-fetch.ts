/** Records when requests were sent and their responses arrived, as the client sees it. */

import { clock } from '@meanwhile/harness/server'

/** On the harness's clock. */
export interface Watched {
  readonly sent: number
  /** When each piece of the body arrived. */
  readonly pieces: number[]
}

/** A `fetch` that records every request in `watched`. */
export function watchedFetch(watched: Watched[]): typeof fetch {
  return async (input, init) => {
    const here: Watched = { sent: clock(), pieces: [] }
    watched.push(here)
    const response = await fetch(input, init)
    const body = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(piece, controller) {
          here.pieces.push(clock())
          controller.enqueue(piece)
        },
      }),
    )
    const { status, statusText, headers } = response
    return new Response(body ?? null, { status, statusText, headers })
  }
}

/** When the last piece arrived; when the request was sent, if none did. */
export function endOf({ sent, pieces }: Watched): number {
  return pieces.at(-1) ?? sent
}
