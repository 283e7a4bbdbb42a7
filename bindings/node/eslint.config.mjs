// Used by lint.sh. Rules that need types apply only to TypeScript files.
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import globals from 'globals';
import tseslint from 'typescript-eslint';

export default defineConfig(
  js.configs.recommended,
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: globals.node },
    rules: { 'no-unused-vars': ['error', { ignoreRestSiblings: true }] }, // used to omit a member
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
      '@typescript-eslint/no-explicit-any': 'off', // needed for koffi's functions and record fields
    },
  },
  // Compiled but not run: its expressions only check types.
  { files: ['tests/types.mts'], rules: { '@typescript-eslint/no-unused-expressions': 'off' } },
);
