/**
 * The trace laboratory: which profile would serve this traffic best?
 *
 * <p>A {@link io.kvasir.lab.LabPlan} names traces, loads, seeds, profiles and how the router's index learns
 * of the engines' caches. {@link io.kvasir.lab.Lab} runs every combination as a {@code LabRun} of its own:
 * a {@code WorkloadTrace} (a file's or a generator's) sends requests, the production routing classes choose among a
 * {@code LabFleet}, and {@code LabEngine}s, the scheduler, cache and step times of the engine simulator,
 * serve them in simulated time, telling an {@code IndexFeed} what they cache. What came of it is a {@link
 * io.kvasir.lab.RunReport}; {@link io.kvasir.lab.LabReport} writes all of them as JSON, as a table
 * and as a page with plots.
 *
 * <p>{@link io.kvasir.lab.Replay} does the same with what was decided in service: it decides every recorded
 * decision once more, over the fleet as it was.
 *
 * <p>A run is one thread's and takes all chance from its seed, so that it can be repeated to the last digit.
 */
@NullMarked
package io.kvasir.lab;

import org.jspecify.annotations.NullMarked;
