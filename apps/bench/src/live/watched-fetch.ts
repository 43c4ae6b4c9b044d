/** When requests went out and their answers came in, as the client sees it. */

import { clock } from '@meanwhile/harness/server'

/** By the harness's clock. */
export interface Watched {
  readonly sent: number
  /** When each piece of the body came. */
  readonly pieces: number[]
}

/** A `fetch` that notes every request in `watched`. */
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

/** When the last piece came; when it was sent, if none did. */
export function endOf({ sent, pieces }: Watched): number {
  return pieces.at(-1) ?? sent
}
