/** What a page tells its reader to install, and the programs that it shows. */

export interface Page {
  /** The install lines in the page's shell blocks, in order and without comments, then those in its text. */
  readonly installs: readonly string[]
  /** The TypeScript blocks that import something from our packages, in order. */
  readonly programs: readonly Program[]
}

export interface Program {
  readonly code: string
  /** `tsx` for a page's React component. */
  readonly kind: 'ts' | 'tsx'
  /** The line of the page on which it begins. */
  readonly line: number
}

export function pageOf(text: string): Page {
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```/gms)].map(({ 1: kind = '', 2: code = '', index }) => ({
    kind,
    code,
    line: text.slice(0, index).split('\n').length + 1,
  }))
  // A command in a shell block, or in the text itself.
  const lines = blocks.filter(({ kind }) => kind === 'sh').flatMap(({ code }) => code.split('\n'))
  const named = text.replace(/^```.*?^```/gms, '').matchAll(/`(npm (?:i|install) [^`]+)`/g)
  return {
    installs: [
      ...lines.filter((line) => /^npm (i|install) /.test(line)).map((line) => line.replace(/\s+# .*$/, '')),
      ...[...named].map(([, line = '']) => line),
    ],
    programs: blocks.flatMap(({ kind, code, line }) =>
      (kind === 'ts' || kind === 'tsx') && /from '@meanwhile\//.test(code) ? [{ kind, code, line }] : [],
    ),
  }
}

/** The line with our packages from these tarballs: `@meanwhile/core` is not in the registry before the release that is checked. */
export function withTarballs(line: string, tarballs: ReadonlyMap<string, string>): string {
  return line.replace(/@meanwhile\/[\w-]+/g, (name) => tarballs.get(name) ?? name)
}
