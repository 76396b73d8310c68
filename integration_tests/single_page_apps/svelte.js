import { mount } from 'svelte';
import Notes from './Notes.svelte';

mount(Notes, { target: document.getElementById('app') });
