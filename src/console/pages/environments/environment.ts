import { createContext, useContext } from 'react'
import type { AppEnv } from '../../../contract/app-envs.ts'

const Current = createContext<AppEnv | null>(null)
export const EnvironmentProvider = Current.Provider

/** The environment of the page; always defined below `EnvironmentFrame`. */
export function useEnvironment(): AppEnv {
  const environment = useContext(Current)
  if (!environment) throw new Error('useEnvironment must be used below EnvironmentFrame')
  return environment
}
