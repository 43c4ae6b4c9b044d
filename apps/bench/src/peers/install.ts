/** Finds which libraries are installed, in which version, and how to install the others. */

import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { WireName } from '@meanwhile/harness/server'
import { z } from 'zod'
import { PEERS, type PeerName } from '../modes.ts'

/** The state of one library. */
export interface PeerState {
  readonly name: PeerName
  /** Absent if it is not installed. */
  readonly version?: string
  /** Why it was not measured; absent if it was. */
  readonly problem?: string
  /** Wires on which it was not measured, because it has no client for them. */
  readonly notOn: readonly WireName[]
}

/** The packages that each is measured with. */
const PACKAGES: Readonly<Record<PeerName, readonly string[]>> = {
  ai: ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic'],
  '@openai/agents': ['@openai/agents', 'zod'],
  langchain: ['langchain', '@langchain/core', '@langchain/openai', '@langchain/anthropic'],
  '@mastra/core': ['@mastra/core', '@ai-sdk/openai', '@ai-sdk/anthropic', 'zod'],
  '@librechat/agents': ['@librechat/agents'],
}

export interface Found {
  readonly name: PeerName
  readonly version?: string
  /** What is missing, and how to install it. */
  readonly problem?: string
}

export async function findPeers(folder: string, names = PEERS): Promise<readonly Found[]> {
  return await Promise.all(
    names.map(async (name) => {
      const version = await versionOf(name, folder)
      const versions = await Promise.all(PACKAGES[name].map((one) => versionOf(one, folder)))
      const missing = PACKAGES[name].filter((_, index) => versions[index] === undefined)
      const install = `npm install ${missing.map((one) => `${one}@latest`).join(' ')}`
      const problem = `${missing.join(', ')} not installed in ${folder}: ${install}`
      return { name, ...(version !== undefined && { version }), ...(missing.length > 0 && { problem }) }
    }),
  )
}

/** The installed packages of a library, with their versions: `ai 7.0.173`. */
export async function packagesOf(name: PeerName, folder: string): Promise<readonly string[]> {
  return await versionsOf(PACKAGES[name], folder)
}

/** `ai 7.0.173` for each package that is installed in the folder. */
export async function versionsOf(packages: readonly string[], folder: string): Promise<readonly string[]> {
  const versions = await Promise.all(packages.map((one) => versionOf(one, folder)))
  return packages.flatMap((one, index) => (versions[index] === undefined ? [] : `${one} ${versions[index]}`))
}

/** The same for a folder whose `package.json` has exact versions, whether they are installed or not. */
export async function packagesWanted(name: PeerName, folder: string): Promise<readonly string[]> {
  const { devDependencies } = WANTED.parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')))
  return PACKAGES[name].map((one) => `${one} ${devDependencies[one]}`)
}

const MANIFEST = z.object({ version: z.string() })
const WANTED = z.object({ devDependencies: z.record(z.string(), z.string()) })

/** Searched for as Node does: in the folder, and in all folders above it. */
async function versionOf(name: string, folder: string): Promise<string | undefined> {
  const here = resolve(folder)
  const text = await readFile(join(here, 'node_modules', name, 'package.json'), 'utf8').catch(() => undefined)
  if (text !== undefined) return MANIFEST.safeParse(JSON.parse(text)).data?.version
  const above = dirname(here)
  return above === here ? undefined : await versionOf(name, above)
}
