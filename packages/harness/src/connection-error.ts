/**
 * The error that a client based on undici (Node's fetch) gets for a broken connection, for transports without a real
 * connection.
 */

import type { Broken } from './raw.ts'

interface Shape {
  readonly name: string
  readonly code: string
  readonly message: string
}

/** The causes, as undici creates them for a socket. (Since Node 24 its HTTPParserError has no code.) */
const CAUSES: Readonly<Record<Broken, Shape>> = {
  reset: { name: 'Error', code: 'ECONNRESET', message: 'read ECONNRESET' },
  fin: { name: 'SocketError', code: 'UND_ERR_SOCKET', message: 'other side closed' },
  'bad-chunk': {
    name: 'HTTPParserError',
    code: 'HPE_INVALID_CHUNK_SIZE',
    message: 'Response does not match the HTTP/1.1 protocol (Invalid character in chunk size)',
  },
}

/** Before the headers the fetch fails, after them the body. */
export class ConnectionError extends TypeError {
  constructor(how: Broken, begun: boolean) {
    const { message, ...rest } = CAUSES[how]
    super(begun ? 'terminated' : 'fetch failed', { cause: Object.assign(new Error(message), rest) })
  }
}
