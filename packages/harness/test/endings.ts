/** How a response may end, and what a client receives on each transport; expected differences are data. */

import { type Ending, type RawStep, rawResponse } from '../src/raw.ts'
import type { ScriptedReply } from '../src/script.ts'
import type { Heard } from './listen.ts'

export interface EndingCase {
  readonly title: string
  readonly reply: ScriptedReply
  /** The result with a real socket. */
  readonly heard: Heard
  /** The result with setupServer, if it differs. */
  readonly setupServer?: Heard
}

const answered = { status: 200, type: 'text/event-stream; charset=utf-8' }
const begun = { ...answered, body: 'data: 1\n\n' }
const bare = { ...answered, body: '' }

const reset = { cause: 'Error: read ECONNRESET (ECONNRESET)' }
const closed = { cause: 'SocketError: other side closed (UND_ERR_SOCKET)' }
const badChunk = {
  cause: 'HTTPParserError: Response does not match the HTTP/1.1 protocol (Invalid character in chunk size)',
}
/** With msw 3 every failing body looks like a closed socket. */
const mocked = { message: 'terminated', cause: 'SocketError: closed (UND_ERR_SOCKET)' }

/**
 * Waits before the end, so that the client has received everything even on a busy machine: a broken connection drops
 * what is in transit.
 */
function ending(end: Ending, ...before: readonly RawStep[]): readonly RawStep[] {
  return [...before, { after: 100, end }]
}

const one: RawStep = { bytes: 'data: 1\n\n' }
const headers: RawStep = { bytes: '' }
const close = { framing: 'close' } as const

export const endings: readonly EndingCase[] = [
  {
    title: 'a complete body',
    reply: rawResponse(ending('complete', one)),
    heard: begun,
  },
  {
    title: 'a body without a length, and the end of its connection',
    reply: rawResponse(ending('complete', one), close),
    heard: begun,
  },
  {
    title: 'headers and no body',
    reply: rawResponse(ending('complete', headers)),
    heard: bare,
  },
  {
    title: 'a FIN before the headers',
    reply: rawResponse(ending('fin')),
    heard: { body: '', error: { message: 'fetch failed', ...closed } },
    setupServer: { body: '', error: { message: 'fetch failed' } },
  },
  {
    title: 'an RST before the headers',
    reply: rawResponse(ending('reset')),
    heard: { body: '', error: { message: 'fetch failed', ...reset } },
    setupServer: { body: '', error: { message: 'fetch failed' } },
  },
  {
    title: 'an RST after the headers',
    reply: rawResponse(ending('reset', headers)),
    heard: { ...bare, error: { message: 'terminated', ...reset } },
    setupServer: { ...bare, error: mocked },
  },
  {
    title: 'a FIN inside a chunked body',
    reply: rawResponse(ending('fin', one)),
    heard: { ...begun, error: { message: 'terminated', ...closed } },
    setupServer: { ...begun, error: mocked },
  },
  {
    title: 'an RST inside a chunked body',
    reply: rawResponse(ending('reset', one)),
    heard: { ...begun, error: { message: 'terminated', ...reset } },
    setupServer: { ...begun, error: mocked },
  },
  {
    title: 'a chunk size that is not a number',
    reply: rawResponse(ending('bad-chunk', one)),
    heard: { ...begun, error: { message: 'terminated', ...badChunk } },
    setupServer: { ...begun, error: mocked },
  },
  {
    title: 'a FIN inside a body without a length, which cannot be detected',
    reply: rawResponse(ending('fin', one), close),
    heard: begun,
  },
  {
    title: 'an RST inside a body without a length, which cannot be detected',
    reply: rawResponse(ending('reset', one), close),
    heard: begun,
  },
  {
    title: 'an error whose body is HTML',
    reply: rawResponse([{ bytes: '<h1>Bad Gateway</h1>' }], { status: 502, headers: { 'content-type': 'text/html' } }),
    heard: { status: 502, type: 'text/html', body: '<h1>Bad Gateway</h1>' },
  },
  {
    title: 'an error without a body',
    reply: rawResponse([{ bytes: '' }], { status: 503, headers: { 'content-type': 'text/plain' } }),
    heard: { status: 503, type: 'text/plain', body: '' },
  },
]
