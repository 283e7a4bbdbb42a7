// For lint.sh. Rules that need types are for what TypeScript compiles.
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import globals from 'globals';
import tseslint from 'typescript-eslint';

export default defineConfig(
  js.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: globals.node },
    rules: { 'no-unused-vars': ['error', { ignoreRestSiblings: true }] }, // they leave a member out
  },
  {
    files: ['**/*.ts', '**/*.mts'],
    extends: [tseslint.configs.recommended],
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['examples/*.mts', 'tests/*.mts'] } },
    },
    rules: {
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'off', // koffi's functions and the fields of records
    },
  },
  // Only compiled: its expressions are for their types.
  { files: ['tests/types.mts'], rules: { '@typescript-eslint/no-unused-expressions': 'off' } },
);
