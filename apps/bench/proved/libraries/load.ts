/** Imports a package that is installed in this folder. */
export const load = (specifier: string): Promise<unknown> => import(specifier)
