/** The interface to another library, inside its process. */

import type { WireName } from '@meanwhile/harness/server'
import type { LoopName } from '../drop-ins/loops.ts'
import type { PeerName } from '../modes.ts'
import type { Work } from '../tools.ts'

/** One run to make. */
export interface PeerTask {
  readonly wire: WireName
  /** The URL of the endpoints, without `/v1`. */
  readonly url: string
  readonly prompt: string
  readonly tools: readonly PeerTool[]
  readonly work: Work
  readonly signal: AbortSignal
  /** Which of the library's loops. Default: the first, which streams. */
  readonly loop?: LoopName
  /** Wraps the value that the library's drop-in wraps; returns it unchanged if no drop-in is measured. */
  dropIn<Wrapped extends object>(wrapped: Wrapped): Wrapped
}

export interface PeerTool {
  readonly name: string
  readonly description: string
  /** The JSON Schema of an object. */
  readonly schema: Readonly<Record<string, unknown>>
}

/** Does the task as the library's documentation shows, streaming, and returns the text of the last answer. */
export type PeerRun = (task: PeerTask) => Promise<string>

/** Imports a module from the user's folder. */
export type Load = (specifier: string) => Promise<unknown>

/** Rejects if the library cannot be loaded, or has an unsupported version. */
export type Driver = (load: Load) => Promise<PeerRun>

/** A library lacks an export that the driver needs. */
export class PeerExportError extends Error {
  override readonly name = 'PeerExportError'

  constructor(specifier: string, missing: readonly string[]) {
    super(`${specifier} exports no ${missing.join(', ')}: this version is not one the benchmark can drive`)
  }
}

/**
 * Loads a module and checks that it exports functions with these names. Their types follow the library's documentation:
 * the library is not among our dependencies, so its types cannot be checked.
 */
export async function exportsOf<Module extends object>(
  load: Load,
  specifier: string,
  names: readonly (keyof Module & string)[],
): Promise<Module> {
  const module = await load(specifier)
  const members = new Map(Object.entries(typeof module === 'object' && module !== null ? module : {}))
  const missing = names.filter((name) => typeof members.get(name) !== 'function')
  if (missing.length > 0) throw new PeerExportError(specifier, missing)
  return module as Module
}

/** The wires that a library has a client for, if not all. */
export const WIRES_OF: Readonly<Partial<Record<PeerName, readonly WireName[]>>> = {
  '@openai/agents': ['openai-chat', 'openai-responses'],
}
