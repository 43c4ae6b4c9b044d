import { parsedJson } from './parsed-json.ts'

/** Whether the text is JSON. */
export function isJson(text: string): boolean {
  return parsedJson(text) !== undefined
}
