/** The libraries that have a drop-in, started: each in a process of its own, where our tests have them. */

import { fileURLToPath } from 'node:url'
import { messageOf } from '@meanwhile/core'
import type { Subject } from '../contestant.ts'
import { findPeers } from '../peers/install.ts'
import { type Peer, spawnPeer } from '../peers/spawn-peer.ts'
import { LIBRARIES, type Library, loopRun } from './loops.ts'

/** What became of one library. */
export interface LibraryState {
  readonly name: Library
  readonly version?: string
  /** Why it, or its drop-in, cannot be measured. */
  readonly problem?: string
}

export interface Libraries extends AsyncDisposable {
  readonly states: readonly LibraryState[]
  readonly running: ReadonlyMap<Library, Peer>
  /** The process that makes the runs of this subject. Throws if its library is not there. */
  peerOf(subject: Subject): Peer
}

/** The drop-ins' own package has the libraries among its dependencies for development. */
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
      if (!peer) throw new TypeError(`${mode} is no loop of a library that was started`)
      return peer
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...running.values()].map((peer) => peer[Symbol.asyncDispose]()))
    },
  }
}
