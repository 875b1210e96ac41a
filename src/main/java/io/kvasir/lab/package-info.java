/**
 * The trace laboratory: simulates the router under traffic, to find the profile that serves it best.
 *
 * <p>A {@link io.kvasir.lab.LabPlan} is a list of runs: the combinations of traces, loads, seeds and profiles.
 * {@link io.kvasir.lab.Lab} executes each as a {@code LabRun}, a discrete-event simulation: a {@code WorkloadTrace}
 * (read from a file by {@link io.kvasir.lab.trace}, or made by a {@code TraceGenerator}) sends requests; the production
 * routing classes choose among the workers of a {@code LabFleet}; {@code LabEngine}s compute the requests in simulated
 * time with the scheduler, cache and step times of {@link io.kvasir.enginemodel}; an {@code IndexFeed} brings their
 * cache events into the router's index, exactly, late or with losses. Each run yields a {@link
 * io.kvasir.lab.RunReport}; {@link io.kvasir.lab.LabReport} writes all of them as JSON, as a table and as a page with
 * plots.
 *
 * <p>Beside the profiles that ship, a run may have rules that were only published: {@link io.kvasir.lab.rules}.
 *
 * <p>{@link io.kvasir.lab.Replay} decides the recorded decisions of a live router once more under other profiles, over
 * the fleet as recorded, and yields a {@link io.kvasir.lab.ReplayReport}.
 *
 * <p>A run uses one thread and takes all randomness from its seed, so that it can be repeated to the last digit. This
 * package uses no actors, sockets or clocks.
 */
@NullMarked
package io.kvasir.lab;

import org.jspecify.annotations.NullMarked;
