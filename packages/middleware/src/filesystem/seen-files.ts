/** Tracks which versions of files the model has seen in a run, because it may change only those. */

import { type AgentState, type Run, runLocal } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { FileError } from '../file-error.ts'
import { schemaOf } from '../schema-of.ts'

export interface SeenFiles {
  /** The version that the model saw last. Without a run there is none. */
  version(run: Run | undefined, path: string): string | undefined
  add(run: Run | undefined, file: SeenFile): void
  /**
   * Adds the files in the results of the last step. It reads results, not calls: the model has never seen the result of
   * an early call that was discarded, and when it writes a response it has not seen the results of that response's own
   * calls.
   */
  addResults(run: Run, state: AgentState): void
}

export interface SeenFile {
  readonly path: string
  readonly version: string
}

export function seenFiles(): SeenFiles {
  const versions = runLocal({ key: 'filesystem', schema: schemaOf(isVersions), initial: {} })
  const add = (run: Run, files: readonly SeenFile[]) => {
    if (files.length === 0) return
    const seen = files.map(({ path, version }) => [path, version] as const)
    versions(run).value = { ...versions(run).value, ...Object.fromEntries(seen) }
  }
  return {
    version(run, path) {
      const known = run ? versions(run).value : {}
      return Object.hasOwn(known, path) ? known[path] : undefined
    },
    add: (run, file) => run && add(run, [file]),
    addResults(run, { messages }) {
      // Earlier results belong to another run.
      if (run.step === 1) return
      const answer = messages.findLastIndex(({ role }) => role === 'assistant')
      const outputs = messages.slice(answer + 1).map((message) => message.role === 'tool' && message.output)
      add(run, outputs.filter(isSeenFile))
    },
  }
}

function isVersions(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((version) => typeof version === 'string')
}

function isSeenFile(output: unknown): output is SeenFile {
  return isRecord(output) && typeof output.path === 'string' && typeof output.version === 'string'
}

/** @throws {FileError} `changed`: the model has not seen the file in this run. */
export function seenVersion(seen: SeenFiles, run: Run | undefined, path: string): string {
  const version = seen.version(run, path)
  if (version !== undefined) return version
  throw new FileError('changed', path, 'was not read in this run; read it, then try again')
}
