package io.kvasir.gateway.admin.vitals;

/**
 * The vital figures of some seconds of the past. Immutable.
 *
 * @param age how long ago they ended, seconds: nodes' clocks may differ
 * @param figures of the time since the sample before
 */
public record VitalSample(double age, VitalFigures figures) {}
