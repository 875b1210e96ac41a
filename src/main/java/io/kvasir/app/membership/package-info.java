/**
 * A node's place among the others: which of them have crashed, whether it is cut off itself, and how it comes back.
 */
@NullMarked
package io.kvasir.app.membership;

import org.jspecify.annotations.NullMarked;
