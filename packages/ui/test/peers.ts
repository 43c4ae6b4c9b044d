/** The versions of the AI SDK that read our streams. `npm run test:versions` runs the tests of these with `apps/tests/versions/peers.ts`. */

import { type Peer, seven } from './peer.ts'

export const peers: readonly Peer[] = [seven]
