/**
 * Reads the configuration into settings records. {@link io.kvasir.app.config.ConfigFiles} lays an operator's file over
 * the defaults of {@code conf}; {@code KvasirConfigReader} hands each section, a {@code ConfigSection}, to the reader
 * of its topic, and the records of all readers are a {@link io.kvasir.app.config.KvasirConfig}. All faults are found in
 * one pass and reported together, each with its file and line. Reading opens nothing that stays open: the profiles are
 * proven against the plugins of the jars, which are closed again, and {@code app.node} builds what the records
 * describe. {@link io.kvasir.app.config.MemoryPlan} is how they divide the heap.
 */
@NullMarked
package io.kvasir.app.config;

import org.jspecify.annotations.NullMarked;
