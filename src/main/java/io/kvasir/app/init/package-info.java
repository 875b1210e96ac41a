/**
 * A configuration from nothing but the URLs of running engines: {@code kvasir init} writes it to a file, {@code kvasir
 * serve --engine} runs with it. {@code FleetSurvey} asks the engines, {@code FleetConfiguration} says what it learnt
 * as commented HOCON.
 */
@NullMarked
package io.kvasir.app.init;

import org.jspecify.annotations.NullMarked;
