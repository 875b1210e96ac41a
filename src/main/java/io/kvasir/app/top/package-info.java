/**
 * {@code kvasir top}: a router's vital figures and a heat map of its workers in a terminal. {@code TopCommand} asks the
 * router and reads keys; {@code TopFrame} lays out what one frame shows, from the answers and {@code TopView}, which is
 * what keys change.
 */
@NullMarked
package io.kvasir.app.top;

import org.jspecify.annotations.NullMarked;
