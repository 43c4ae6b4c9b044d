/** Programs that are started many times, built to few files: from all its sources a program takes four times as long to start. */

import { mkdirSync, mkdtempSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type OutputOptions, type RolldownOutput, rolldown } from 'rolldown'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Where what is not built into a program finds the installed packages. */
const PLACE = join(ROOT, 'node_modules/.cache/programs')

/** Makes a folder for programs. Its caller removes it. */
export function folderOfPrograms(): string {
  mkdirSync(PLACE, { recursive: true })
  return mkdtempSync(join(PLACE, 'built-'))
}

/** Builds these files into the folder. Returns the program of each file. It finds what stands beside its sources. */
export async function buildPrograms(
  sources: readonly string[],
  folder: string,
): Promise<Readonly<Record<string, string>>> {
  const { output } = await built(sources, { dir: folder, chunkFileNames: 'shared/[name]-[hash].mjs' })
  const imported = new Set(output.flatMap((one) => (one.type === 'chunk' ? one.imports : [])))
  const programs: Record<string, string> = {}
  for (const source of sources) {
    const name = `${nameOf(source)}.mjs`
    programs[source] = join(folder, name)
    // A part that it loads later, and waits for, would wait for it.
    if (imported.has(name)) await built([source], { dir: folder, codeSplitting: false })
  }
  return programs
}

async function built(sources: readonly string[], options: OutputOptions): Promise<RolldownOutput> {
  await using build = await rolldown({
    input: Object.fromEntries(sources.map((source) => [nameOf(source), resolve(source)])),
    platform: 'node',
    logLevel: 'silent',
    // Programs of another language, or not installed.
    external: ['pg-native', 'rolldown', 'vite'],
    resolve: { conditionNames: ['@meanwhile/source', 'node'] },
    plugins: [{ name: 'place-of-the-source', transform: withItsPlace }],
  })
  return await build.write({ ...options, entryFileNames: '[name].mjs' })
}

const nameOf = (source: string): string => relative(ROOT, resolve(source)).replace(/\.ts$/, '')

function withItsPlace(code: string, id: string): string | null {
  if (!code.includes('import.meta.')) return null
  const places: Readonly<Record<string, string>> = { url: pathToFileURL(id).href, filename: id, dirname: dirname(id) }
  return code.replaceAll(/\bimport\.meta\.(url|filename|dirname)\b/g, (_, name: string) => JSON.stringify(places[name]))
}
