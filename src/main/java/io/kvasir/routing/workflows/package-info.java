/**
 * The workflows of more than one worker, each of which is one class here and one line in {@code BuiltInWorkflows}: who
 * reads a prompt and who generates from it, who turns its images into embeddings, and whether dividing is worth it.
 */
@NullMarked
package io.kvasir.routing.workflows;

import org.jspecify.annotations.NullMarked;
