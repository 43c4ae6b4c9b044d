/** What a page tells its reader to install, and the programs that it shows. */

export interface Page {
  /** The install lines in the page's shell blocks, in order and without comments, then those in its text. */
  readonly installs: readonly string[]
  /** The TypeScript blocks that import something from our packages, in order. */
  readonly programs: readonly Program[]
  /** The whole programs to which it links, each once, such as `examples/chat-page.tsx`. */
  readonly examples: readonly string[]
}

export interface Program {
  readonly code: string
  /** `tsx` for a page's React component. */
  readonly kind: 'ts' | 'tsx'
  /** `line-8` for the block that begins on that line of the page. */
  readonly name: string
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
      (kind === 'ts' || kind === 'tsx') && /from '@meanwhile\//.test(code)
        ? [{ kind, code, name: `line-${line}` }]
        : [],
    ),
    examples: [
      ...new Set([...text.matchAll(/\]\((?:\.\.\/)*(examples\/[\w/-]+\.tsx?)\)/g)].map(([, path = '']) => path)),
    ],
  }
}

/** The packages from which a program imports something. Files next to it begin with a dot. */
export function packagesOf(code: string): readonly string[] {
  const imported = [...code.matchAll(/ from '([^']+)'/g)].map(([, name = '']) => name)
  return imported.filter((name) => !name.startsWith('node:')).map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
}

/**
 * The line with our packages from tarballs: none is in the registry before the release that is checked. `tarballs`: by the name of a package, its own
 * and those of our packages on which it depends.
 */
export function withTarballs(line: string, tarballs: ReadonlyMap<string, readonly string[]>): string {
  return line.replace(/@meanwhile\/[\w-]+/g, (name) => tarballs.get(name)?.join(' ') ?? name)
}
