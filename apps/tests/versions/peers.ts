/** Version 6 of the AI SDK, instead of `packages/ui/test/peers.ts`. */

import * as ai from 'ai'
import { type Peer, peerOf } from '../../../packages/ui/test/peer.ts'

export const peers: readonly Peer[] = [peerOf(6, ai)]
