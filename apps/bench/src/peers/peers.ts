/** Starts the other libraries that are installed, each in a separate process. */

import { messageOf } from '@meanwhile/core'
import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { PeerName, Way } from '../modes.ts'
import { WIRES_OF } from './driver.ts'
import { findPeers, type PeerState } from './install.ts'
import { type Peer, spawnPeer } from './spawn-peer.ts'

export interface Peers extends AsyncDisposable {
  readonly states: readonly PeerState[]
  readonly running: ReadonlyMap<Way, Peer>
  can(way: Way, wire: WireName): boolean
}

export async function startPeers(folder: string, signal: AbortSignal): Promise<Peers> {
  const running = new Map<PeerName, Peer>()
  const states: PeerState[] = []
  for (const { name, version, problem } of await findPeers(folder)) {
    const notOn = WIRE_NAMES.filter((wire) => WIRES_OF[name]?.includes(wire) === false)
    const state = { name, ...(version !== undefined && { version }), notOn }
    try {
      if (problem === undefined) running.set(name, await spawnPeer(name, { folder }, signal))
      states.push({ ...state, ...(problem !== undefined && { problem }) })
    } catch (error) {
      signal.throwIfAborted()
      states.push({ ...state, problem: messageOf(error) })
    }
  }
  const wires = new Map<Way, readonly WireName[]>(states.map(({ name, notOn }) => [name, notOn]))
  return {
    states,
    running,
    can: (way, wire) => wires.get(way)?.includes(wire) !== true,
    async [Symbol.asyncDispose]() {
      await Promise.all([...running.values()].map((peer) => peer[Symbol.asyncDispose]()))
    },
  }
}
