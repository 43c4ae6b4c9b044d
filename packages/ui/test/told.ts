/** What a refusal tells: the name of the error, for programs, and the sentence. */
export async function told(response: Response): Promise<readonly unknown[]> {
  return [response.headers.get('x-error'), await response.text()]
}
