/** Reads instruction files and the files they include, and joins them to one text of limited size. */

import type { Run } from '@meanwhile/core'
import type { FileBackend } from '../file-backend.ts'
import { FileError } from '../file-error.ts'
import { textOfBytes } from '../filesystem/file-content.ts'

export interface InstructionLimits {
  readonly importDepth: number
  readonly maxBytes: number
}

/** A file that is larger than this is not read, because only a small part of it could be shown. */
const MAX_READ = 1_000_000

/** The begin of a tag by which a file could end its own text and begin another one. */
const TAG = /<(?=\s*\/?\s*instructions)/gi

/**
 * A line `@path` outside code includes that file, relative to the including one. A file is added only once, at its
 * first place, so cycles and repetitions end.
 */
export class InstructionFiles {
  readonly #backend: FileBackend
  readonly #limits: InstructionLimits
  readonly #run: Run
  readonly #lines: string[] = []
  readonly #read: Set<string> = new Set()
  #left: number

  constructor(backend: FileBackend, limits: InstructionLimits, run: Run) {
    this.#backend = backend
    this.#limits = limits
    this.#run = run
    this.#left = limits.maxBytes
  }

  get text(): string {
    return this.#lines.join('\n')
  }

  /**
   * Adds a file if it exists; returns whether it does.
   *
   * @throws {FileError} It cannot be read.
   */
  async add(path: string): Promise<boolean> {
    if (this.#read.has(path) || this.#isFull) return true
    const text = await this.#textOf(path)
    if (text === undefined) return false
    this.#put(`<instructions file=${JSON.stringify(path)}>`)
    await this.#include(path, text, [path])
    this.#put('</instructions>')
    return true
  }

  /** `chain`: the files that include this one, and itself. */
  async #include(path: string, text: string, chain: readonly string[]): Promise<void> {
    let fence: string | undefined
    for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) {
      if (this.#isFull) return
      const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
      if (mark !== undefined && (fence === undefined || mark.startsWith(fence)))
        fence = fence === undefined ? mark : undefined
      const [, included] = (fence === undefined && /^@(\S+)[ \t]*$/.exec(line)) || []
      if (included === undefined) this.#put(line.replace(TAG, '&lt;'))
      else await this.#addIncluded(path, included, chain)
    }
  }

  async #addIncluded(from: string, target: string, chain: readonly string[]): Promise<void> {
    const path = resolved(from, target)
    const warn = (code: string, problem: string) =>
      this.#run.warn({ code: `instructions-${code}`, message: `${from} includes ${path}, ${problem}` })
    // The path of an include counts, too, so even a hostile list of includes ends.
    if (!this.#spend(target.length + 2)) return this.#cut()
    if (chain.includes(path)) return warn('cycle', 'which in turn includes it')
    if (this.#read.has(path)) return
    if (chain.length > this.#limits.importDepth) return warn('too-deep', `deeper than ${this.#limits.importDepth}`)
    const text = await this.#textOf(path)
    if (text === undefined) return warn('missing', 'which does not exist')
    await this.#include(path, text, [...chain, path])
  }

  async #textOf(path: string): Promise<string | undefined> {
    const { signal } = this.#run
    try {
      const { bytes } = await this.#backend.read(path, { maxBytes: Math.max(MAX_READ, this.#limits.maxBytes), signal })
      const text = textOfBytes(bytes)
      if (text === undefined) throw new FileError('failed', path, 'is not UTF-8 text')
      this.#read.add(path)
      return text.replace(/^\ufeff/, '')
    } catch (error) {
      if (error instanceof FileError && error.code === 'not-found') return undefined
      throw error
    }
  }

  get #isFull(): boolean {
    return this.#left < 0
  }

  #put(line: string): void {
    if (this.#isFull) return
    const left = this.#left
    const bytes = new TextEncoder().encode(`${line}\n`)
    if (this.#spend(bytes.length)) {
      this.#lines.push(line)
      return
    }
    this.#lines.push(new TextDecoder().decode(bytes.subarray(0, left), { stream: true }))
    this.#cut()
  }

  #spend(bytes: number): boolean {
    this.#left -= bytes
    return this.#left >= 0
  }

  #cut(): void {
    const message = `the instructions were cut at ${this.#limits.maxBytes} bytes`
    this.#run.warn({ code: 'instructions-cut', message })
  }
}

/** @throws {FileError} `refused`: it is not a path below the root. */
function resolved(from: string, target: string): string {
  const refuse = (): never => {
    throw new FileError('refused', from, `includes ${target.slice(0, 200)}, which is outside of the root`)
  }
  if (/^[/~\\]|^[a-z]:/i.test(target)) refuse()
  const segments = from.split('/').slice(0, -1)
  for (const name of target.split('/')) {
    if (name === '..') {
      if (segments.pop() === undefined) refuse()
    } else if (name !== '' && name !== '.') segments.push(name)
  }
  return segments.join('/')
}
