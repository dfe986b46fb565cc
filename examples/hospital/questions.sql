-- dpsql plan --policy examples/hospital/dpsql.toml examples/hospital/questions.sql
SELECT city, COUNT(*) AS people, AVG(age) AS age FROM patients GROUP BY city;
SELECT COUNT(*) AS flu FROM patients WHERE flu;
SELECT diagnosis, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY diagnosis;
SELECT w.title, SUM(v.charge) AS charges FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.title;
SELECT title FROM wards ORDER BY title;
