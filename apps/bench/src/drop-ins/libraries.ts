/** Starts the libraries that have a drop-in, each in a separate process, in the versions of our tests. */

import { fileURLToPath } from 'node:url'
import { messageOf } from '@meanwhile/core'
import type { Subject } from '../contestant.ts'
import { findPeers } from '../peers/install.ts'
import { type Peer, spawnPeer } from '../peers/spawn-peer.ts'
import { LIBRARIES, type Library, loopRun } from './loops.ts'

/** The state of one library. */
export interface LibraryState {
  readonly name: Library
  readonly version?: string
  /** Why it, or its drop-in, cannot be measured. */
  readonly problem?: string
}

export interface Libraries extends AsyncDisposable {
  readonly states: readonly LibraryState[]
  readonly running: ReadonlyMap<Library, Peer>
  /** The process that makes the runs of this subject. Throws if its library is missing. */
  peerOf(subject: Subject): Peer
}

/** The drop-ins' package has the libraries among its development dependencies. */
const FOLDER = fileURLToPath(new URL('.', import.meta.resolve('@meanwhile/eager-tools')))

/** A library with its drop-in, in a new process. */
export async function startLibrary(name: Library, signal: AbortSignal): Promise<Peer> {
  return await spawnPeer(name, { folder: FOLDER, dropIn: name }, signal)
}

export async function startLibraries(signal: AbortSignal): Promise<Libraries> {
  const running = new Map<Library, Peer>()
  const states: LibraryState[] = []
  const found = await findPeers(FOLDER, LIBRARIES)
  for (const name of LIBRARIES) {
    const { version, problem } = found.find((one) => one.name === name) ?? {}
    try {
      if (problem === undefined) running.set(name, await startLibrary(name, signal))
      states.push({ name, ...(version !== undefined && { version }), ...(problem !== undefined && { problem }) })
    } catch (error) {
      signal.throwIfAborted()
      states.push({ name, ...(version !== undefined && { version }), problem: messageOf(error) })
    }
  }
  return {
    states,
    running,
    peerOf({ mode }) {
      const library = loopRun(mode)?.loop.library
      const peer = library && running.get(library)
      if (!peer) throw new TypeError(`${mode} is not a loop of a started library`)
      return peer
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...running.values()].map((peer) => peer[Symbol.asyncDispose]()))
    },
  }
}
