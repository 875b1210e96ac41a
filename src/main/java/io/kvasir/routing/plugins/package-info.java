/**
 * The plugins profiles are made of: one small class each, and one line each in {@link
 * io.kvasir.routing.plugins.BuiltInPlugins}.
 */
@NullMarked
package io.kvasir.routing.plugins;

import org.jspecify.annotations.NullMarked;
